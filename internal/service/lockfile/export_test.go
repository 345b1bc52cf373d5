package lockfile

import (
	"context"
	"os"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TableRecipes are all recipes, for the table of what they do.
func TableRecipes() (list []labtest.Recipe) {
	for _, r := range recipes {
		by := service.By + ": " + r.name
		list = append(list, labtest.Recipe{Name: r.name, Service: Name, Client: by, Against: by, Token: true})
	}
	return list
}

// Watch is an account that has begun to watch a directory, and takes in what the kernel has told
// of it only when it is asked to.
func Watch(told service.Account, dir string) (follow func() error, err error) {
	kernel, err := watch(dir)
	if err != nil {
		return nil, err
	}
	a := newAccount(told, dir)
	return func() error { defer a.close(); return a.follow(kernel) }, nil
}

// Changes is what the kernel has told, read.
func Changes(told []byte) error {
	_, err := changes(told)
	return err
}

// Raise makes the number in a file one higher.
func Raise(ctx context.Context, path string) (token fence.Token, err error) {
	err = alone(ctx, path, func(f *os.File) (err error) {
		token, err = raise(f)
		return err
	})
	return token, err
}

var FileOf = fileOf
