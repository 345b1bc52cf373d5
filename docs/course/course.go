// Package course holds the pages and the exercises of the course.
package course

import "embed"

// FS has the page of each lesson, lesson-NN.md, and for each lesson two directories:
// exercises/NN/start, with which its exercise begins (exercise 10 begins with examples/storage,
// too), and exercises/NN/answer, in which the exercise is solved.
//
//go:embed *.md exercises
var FS embed.FS
