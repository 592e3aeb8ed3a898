// Command ci holds what the checks and a release need in addition to the go command:
//
//	ci skips [-short] <TESTS.json    judge the output of "go test -json"
//	ci sbom PROGRAM FILE             list the modules in a program
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	code := 2
	switch args := os.Args[1:]; {
	case len(args) >= 1 && args[0] == "skips":
		flags := flag.NewFlagSet("skips", flag.ExitOnError)
		short := flags.Bool("short", false, "let tests be skipped")
		_ = flags.Parse(args[1:]) // it exits itself
		code = checkTests(os.Stdin, os.Stdout, *short)
	case len(args) == 3 && args[0] == "sbom":
		code = 0
		if err := writeSBOM(args[1], args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "sbom:", err)
			code = 1
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: ci skips [-short], or ci sbom PROGRAM FILE")
	}
	os.Exit(code)
}
