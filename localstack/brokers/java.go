package brokers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"tidemark/shared/fault"
)

// oldestJava is the oldest Java that a broker runs on.
const oldestJava = 17

// findJava gives a java that is new enough: the one that is named, or that of JAVA_HOME, else of PATH.
func findJava(ctx context.Context, named string) (string, error) {
	candidates := []string{named}
	if named == "" {
		candidates = usualJava()
	}
	err := errors.New("neither JAVA_HOME nor PATH has one")
	for _, candidate := range candidates {
		if err = usable(ctx, candidate); err == nil {
			return candidate, nil
		}
	}
	return "", fault.New(fault.Misconfigured, "Kafka brokers need Java %d or later: %w", oldestJava, err).WithHint("do one of two: " +
		"(1) install a Java runtime (apt-get install openjdk-17-jre-headless, brew install openjdk) where JAVA_HOME or PATH says it is; " +
		"(2) name brokers that are up, as Addresses")
}

func usualJava() []string {
	var found []string
	if home := os.Getenv("JAVA_HOME"); home != "" { //nolint:forbidigo // says where the machine's Java is, as PATH does
		found = append(found, filepath.Join(home, "bin", "java"))
	}
	if java, err := exec.LookPath("java"); err == nil {
		found = append(found, java)
	}
	return found
}

// usable runs java: some machines have a program of that name that only says that there is none.
func usable(ctx context.Context, java string) error {
	output, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s -version: %w", java, err)
	}
	if major := majorOf(string(output)); major < oldestJava {
		return fmt.Errorf("%s is of version %d", java, major)
	}
	return nil
}

var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// majorOf reads what java -version prints, 0 when it says nothing. Java 8 called itself 1.8.
func majorOf(output string) int {
	match := javaVersion.FindStringSubmatch(output)
	if match == nil {
		return 0
	}
	major, err := strconv.Atoi(match[1])
	if err != nil {
		return 0
	}
	return major
}
