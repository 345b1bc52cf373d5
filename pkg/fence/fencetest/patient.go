package fencetest

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// maxAgain is how often a request is made again, because the store said so.
const maxAgain = 1000

// patient is a store whose requests are made again where it says so.
type patient struct {
	Store
	again func(error) bool
}

func (p patient) retry(request func() error) error {
	err := request()
	for range maxAgain {
		if err == nil || p.again == nil || !p.again(err) {
			return err
		}
		err = request()
	}
	return fmt.Errorf("after %d attempts: %w", maxAgain, err)
}

func (p patient) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return p.retry(func() error { return p.Store.Write(ctx, c, key, value) })
}

func (p patient) Delete(ctx context.Context, c fence.Claim, key string) error {
	return p.retry(func() error { return p.Store.Delete(ctx, c, key) })
}

func (p patient) Read(ctx context.Context, c fence.Claim, key string) (value string, ok bool, err error) {
	err = p.retry(func() error {
		value, ok, err = p.Store.Read(ctx, c, key)
		return err
	})
	return value, ok, err
}

// The functions of a Subject, with stores that are patient.

func (sub Subject) patient(s Store, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return patient{s, sub.Again}, nil
}

func (sub Subject) open(ctx context.Context) (Store, error) { return sub.patient(sub.Open(ctx)) }

func (sub Subject) second(ctx context.Context, s Store) (Store, error) {
	return sub.patient(sub.Second(ctx, s.(patient).Store))
}

func (sub Subject) restart(ctx context.Context, s Store) (Store, error) {
	return sub.patient(sub.Restart(ctx, s.(patient).Store))
}

func (sub Subject) fail(ctx context.Context, s Store, c fence.Claim, key, value string) error {
	p := s.(patient)
	return p.retry(func() error { return sub.Fail(ctx, p.Store, c, key, value) })
}
