package fencek8s

import (
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/kube"
)

// What the policy looks at. The numbers of a mark are its token, its sequence and its shared token.
const (
	label   = "fencelab.github.io/fenced"
	markKey = "fencelab.github.io/mark"
	readKey = "fencelab.github.io/read" // the resourceVersion of the object that a write changes
	byKey   = "fencelab.github.io/by"   // the call of Do that has written the object; the policy does not need it
)

// read returns the resourceVersion and the mark of an object, and which call of Do has written it. The errors are definite.
func read(object []byte) (version string, mark fence.Mark, by string, err error) {
	o, err := kube.Parse(object)
	if err != nil {
		return "", fence.Mark{}, "", err
	}
	text, has := o.Annotations[markKey]
	if !has {
		return o.Version, fence.Mark{}, "", nil
	}
	_, err = fmt.Sscanf(text, "%d %d %d", &mark.Token, &mark.Sequence, &mark.Shared)
	if err != nil || format(mark) != text {
		return "", fence.Mark{}, "", fence.Definite.New(fmt.Sprintf("the annotation %s is %q, which is no mark: want three numbers, TOKEN SEQUENCE SHARED", markKey, text))
	}
	return o.Version, mark, o.Annotations[byKey], nil
}

func format(m fence.Mark) string { return fmt.Sprint(m.Token, " ", m.Sequence, " ", m.Shared) }

// marked is an object with its name, its label, its mark, and who writes it, to be written where the object of a version was read; "": none.
// The other fields stay as they are. The errors are definite.
func marked(object []byte, name, version string, mark fence.Mark, by string) ([]byte, error) {
	o, err := kube.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("what edit returned: %w", err)
	}
	o.Version = version
	o.Labels[label] = "true"
	o.Annotations[markKey], o.Annotations[readKey], o.Annotations[byKey] = format(mark), version, by
	return o.Text(name)
}
