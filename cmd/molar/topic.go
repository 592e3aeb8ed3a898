package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molar/agent/subject"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/topics"
)

func newTopicCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "topic", Short: "Make, teach and measure the topics that assistants keep to", Args: onlyCommands, RunE: showHelp,
		Long: `A topic is a pack: a folder with the texts, names, emergencies, labelled lines and learned
tables of one subject. From a sentence to a guardrail:

  molar topic new tax        write a pack from a description
  molar topic grow tax       let the configured model write labelled lines
  molar topic train tax      learn from them, in code
  molar topic check tax      measure it: accuracy, and how often a model has to judge`,
	}
	cmd.AddCommand(newTopicNewCmd(a), newTopicGrowCmd(a), newTopicTrainCmd(a), newTopicCheckCmd(a), newTopicEvalCmd(a))
	return cmd
}

// packFolder returns the folder of a pack: that of a topic in the config, else a folder of this
// name. A topic that is built in, or stands in the config without a pack, hides a folder of its name, as
// it does everywhere: ./NAME is the folder.
func packFolder(cfg *config.Config, name string) (string, error) {
	if t, known := cfg.Topics.Get(name); known && t.Pack != "" {
		return t.Pack, nil
	}
	_, err := os.Stat(filepath.Join(name, subject.TopicFile))
	switch {
	case err == nil && slices.Contains(cfg.TopicNames(), name):
		return "", cli.Usage(fmt.Errorf("the topic %q is built in, or stands in the config without a pack: for the folder of this name write .%c%s", name, filepath.Separator, name))
	case err == nil:
		return name, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", cli.Usage(fmt.Errorf("there is no pack %q: neither a topic with a pack in the config nor a folder with %s; make one with: molar topic new %s",
			name, subject.TopicFile, strings.TrimSuffix(filepath.Base(name), "/")))
	}
	return "", err
}

// packOf returns the files of the pack of a topic, its folder if it is on disk, and what ends their
// use. No link leads out of the folder.
func (a *app) packOf(name string) (dir string, pack fs.FS, end func() error, err error) {
	cfg, err := a.Load(nil)
	if err != nil {
		return "", nil, nil, err
	}
	if dir, err = packFolder(cfg, name); err != nil {
		if pack, known := topics.Open(name); known {
			return "", pack, func() error { return nil }, nil
		}
		return "", nil, nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", nil, nil, err
	}
	return dir, root.FS(), root.Close, nil
}

// openFolder reads a pack that is a folder of this name.
func openFolder(name string) (subject.Topic, error) {
	if _, err := os.Stat(filepath.Join(name, subject.TopicFile)); err != nil {
		return subject.Topic{}, err
	}
	return subject.ReadPack(os.DirFS(name), filepath.Base(name))
}

// openPack reads the pack of a topic.
func (a *app) openPack(name string) (dir string, cfg *config.Config, t subject.Topic, err error) {
	if cfg, err = a.Load(nil); err != nil {
		return "", nil, t, err
	}
	if dir, err = packFolder(cfg, name); err != nil {
		return "", nil, t, err
	}
	t, err = subject.ReadPack(os.DirFS(dir), filepath.Base(dir))
	return dir, cfg, t, err
}
