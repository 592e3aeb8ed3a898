package observe

import (
	"strings"

	"molar/eval/tape"
	"molar/internal/config"
)

// Redactor knows the secrets of a config.
func Redactor(cfg *config.Config) *tape.Redactor {
	secrets := []string{cfg.LLM.GeminiKey.Reveal(), cfg.LLM.OpenAIKey.Reveal()}
	for _, s := range cfg.MCPServers {
		for _, v := range s.Value.Headers {
			secrets = append(secrets, v.Reveal(), strings.TrimPrefix(v.Reveal(), "Bearer "))
		}
		for _, v := range s.Value.Env {
			secrets = append(secrets, v.Reveal())
		}
	}
	return tape.NewRedactor(secrets...)
}
