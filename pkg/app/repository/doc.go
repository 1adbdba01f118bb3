// Package repository tests the files beside the code against the code: the template,
// its alarms and policies, the runbooks, the documents, and the imports of the
// packages. Most of these tests run no request; those of the policies and the logs
// record what all functions do.
package repository
