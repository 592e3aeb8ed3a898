package main

import "github.com/spf13/cobra"

func newEvalCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Record turns, replay them and score what the assistants do",
		Long: `Record turns, replay them and score what the assistants do.

Exit codes: 0 all well, 1 a check or a gate failed, 2 usage or an invalid file,
3 drift, 4 infrastructure, 5 nothing was selected.`,
		Args: onlyCommands,
		RunE: showHelp,
	}
	for _, construct := range []func(*app) *cobra.Command{
		newEvalRecordCmd,
		newEvalRunCmd,
		newEvalScoreCmd,
		newEvalAcceptCmd,
		newEvalDiffCmd,
		newEvalVerifyCmd,
		newEvalReportCmd,
		newEvalImportCmd,
		newEvalExportCmd,
		newEvalMatchCmd,
		newEvalScanCmd,
	} {
		cmd.AddCommand(construct(a))
	}
	return cmd
}
