package kvhttp

import _ "embed"

//go:embed openapi.yaml
var openAPI []byte

// serveOpenAPI sends the description of the protocol.
func serveOpenAPI(c *call) error {
	c.w.Header().Set("Content-Type", "application/yaml")
	_, err := c.w.Write(openAPI)
	return err
}
