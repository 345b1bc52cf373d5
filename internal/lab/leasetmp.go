package lab

import (
	"path"
	"strings"
)

func leaseTmp(tenure string) string {
	key, _, _ := strings.Cut(tenure, "@")
	return path.Base(key)
}
