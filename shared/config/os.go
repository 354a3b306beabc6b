package config

import "os"

// OS is the environment of this process, as the Load functions want it.
func OS() (lookup func(string) (string, bool), environ []string) { return os.LookupEnv, os.Environ() }
