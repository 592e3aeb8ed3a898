package web

import (
	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

// listQuestions answers GET /v1/questions.
func (s *server) listQuestions(c *gin.Context) {
	waiting, err := s.turns.Questions(c.Request.Context(), s.Owner(c.Request))
	if err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	wire.WriteJSON(c.Writer, listOf(waiting))
}

// An answeredObject reports that a question was answered.
type answeredObject struct {
	ID     string `json:"id"`
	Object string `json:"object"`
	Action string `json:"action"`
}

// answerQuestion answers POST /v1/questions/{id}.
func (s *server) answerQuestion(c *gin.Context) {
	var answer schemas.Answer
	err := wire.ReadBody(c.Request, &answer)
	if err == nil {
		err = s.turns.Answer(c.Request.Context(), s.Owner(c.Request), c.Param("id"), answer)
	}
	if err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	wire.WriteJSON(c.Writer, answeredObject{ID: c.Param("id"), Object: "question", Action: answer.Action})
}
