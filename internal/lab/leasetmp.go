package lab

import (
	"path"
	"strings"
)

func leaseTmp(tenure string) string {
	key, _, _ := strings.Cut(tenure, "@")
	id, _, _ := strings.Cut(path.Base(key), "-")
	return id
}
