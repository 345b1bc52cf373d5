package fencek8s

import (
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/kube"
	"github.com/fencelab/fencelab/pkg/internal/swap"
)

// What the policy looks at. The numbers of a mark are its token, its sequence and its shared token.
const (
	label   = "fencelab.github.io/fenced"
	markKey = "fencelab.github.io/mark"
	readKey = "fencelab.github.io/read" // the resourceVersion of the object that a write changes
	byKey   = "fencelab.github.io/by"   // the call of Do that has written the object; the policy does not need it
)

// read returns the resourceVersion of an object and what is kept in it. The errors are definite.
func read(object []byte) (version string, kept swap.Kept, err error) {
	o, err := kube.Parse(object)
	if err != nil {
		return "", swap.Kept{}, err
	}
	text, has := o.Annotations[markKey]
	if !has {
		return o.Version, swap.Kept{}, nil
	}
	mark := &kept.Mark
	_, err = fmt.Sscanf(text, "%d %d %d", &mark.Token, &mark.Sequence, &mark.Shared)
	if err != nil || format(*mark) != text {
		return "", swap.Kept{}, fence.Definite.New(fmt.Sprintf("the annotation %s is %q, which is no mark: want three numbers, TOKEN SEQUENCE SHARED", markKey, text))
	}
	kept.By = o.Annotations[byKey]
	return o.Version, kept, nil
}

func format(m fence.Mark) string { return fmt.Sprint(m.Token, " ", m.Sequence, " ", m.Shared) }

// marked is an object with its name, its label, and what is to be kept in it, to be written where the object of a version was read; "": none.
// The other fields stay as they are. The errors are definite.
func marked(object []byte, name, version string, kept swap.Kept) ([]byte, error) {
	o, err := kube.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("what edit returned: %w", err)
	}
	o.Version = version
	o.Labels[label] = "true"
	o.Annotations[markKey], o.Annotations[readKey], o.Annotations[byKey] = format(kept.Mark), version, kept.By
	return o.Text(name)
}
