package kvhttp

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.yaml
var openAPI []byte

// serveOpenAPI sends the description of the protocol.
func serveOpenAPI(c *call) error {
	if err := c.allow(http.MethodGet, http.MethodHead); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/yaml")
	_, err := c.w.Write(openAPI)
	return err
}
