"""Prints what the SAM translator makes of templates: transform.py TEMPLATE... > LIST

LIST is JSON: for each TEMPLATE an object with "template", plain CloudFormation, or with "error". References to
parameters stay references, so that whoever reads the result sees what the deployment will fill in. Nothing is fetched.
"""

import json
import os
import sys

os.environ.setdefault("AWS_DEFAULT_REGION", "eu-central-1")  # the translator asks boto3 for the partition

from samtranslator.model.exceptions import InvalidDocumentException  # noqa: E402
from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402


class NoPolicies:
    """Stands for the account's list of managed policies: a function that needs it has no role of its own."""

    def load(self):
        return {}


def transformed(path):
    with open(path, encoding="utf-8") as file:
        template = yaml_parse(file.read())
    parameters = template.get("Parameters", {})
    defaults = {name: p.pop("Default") for name, p in parameters.items() if "Default" in p}
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            properties = resource["Properties"]
            properties["CodeUri"] = "s3://bucket/" + properties["CodeUri"]  # sam package puts the folder into a bucket
        if resource["Type"] == "AWS::Serverless::StateMachine":
            properties = resource["Properties"]
            properties["DefinitionUri"] = "s3://bucket/" + properties["DefinitionUri"]
    try:
        result = transform(template, {}, NoPolicies())
    except InvalidDocumentException as refused:
        return {"error": refused.message}
    for name, value in defaults.items():
        result["Parameters"][name]["Default"] = value
    return {"template": result}


json.dump([transformed(path) for path in sys.argv[1:]], sys.stdout)
