package tool

// A Call is one tool call of an assistant message.
type Call struct {
	ID        string `json:"id,omitempty"` // as the provider gave it; need not be unique, nor there
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // a JSON object, as the model wrote it; empty or blank is {}
}
