package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addPrompts adds /tag and /record, two frequent questions.
func addPrompts(s *server.MCPServer) {
	s.AddPrompt(mcp.NewPrompt("tag",
		mcp.WithPromptDescription("Show the most used tags of the catalogue, or the records of one tag"),
		mcp.WithArgument("tag", mcp.ArgumentDescription("A tag, such as \"water quality\"; left out, the tags themselves are listed")),
	), tagPrompt)
	s.AddPrompt(mcp.NewPrompt("record",
		mcp.WithPromptDescription("Show one record of the catalogue"),
		mcp.WithArgument("uuid", mcp.RequiredArgument(), mcp.ArgumentDescription("The record's UUID")),
	), recordPrompt)
}

func tagPrompt(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	tag := strings.TrimSpace(req.Params.Arguments["tag"])
	if tag == "" {
		return questionPrompt("Tags of the catalogue",
			"Which tags does the SDI catalogue use most? List them with list_tags, with the number of records of each."), nil
	}
	return questionPrompt("Records of a tag", fmt.Sprintf(
		"Which records of the SDI catalogue have the tag %q? Find them with search_catalogue and show title, a sentence on each, and its UUID.", tag)), nil
}

func recordPrompt(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	id := strings.TrimSpace(req.Params.Arguments["uuid"])
	if id == "" {
		return nil, errors.New("uuid is missing: give the record's UUID, as search_catalogue returns it")
	}
	return questionPrompt("A record of the catalogue", fmt.Sprintf(
		"Show the record with the uuid %q of the SDI catalogue. Read it with get_record and give its title, abstract, tags and the links to its data.", id)), nil
}

// questionPrompt returns a prompt with one question.
func questionPrompt(description, question string) *mcp.GetPromptResult {
	return mcp.NewGetPromptResult(description, []mcp.PromptMessage{
		mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(question)),
	})
}
