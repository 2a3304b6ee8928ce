// Package configs holds what is built into toolgate: the policy that it runs on
// without a file, the catalogue of tools, roles and agents, and the JSON Schema
// of a policy. It holds bytes and nothing else; package config reads them.
package configs

import _ "embed"

// Names of the embedded files, as positions in them show them.
const (
	DefaultName   = "toolgate.yaml"
	CatalogueName = "catalogue.yaml"
	SchemaName    = "toolgate.schema.json"
)

var (
	//go:embed toolgate.yaml
	defaultPolicy string

	//go:embed catalogue.yaml
	catalogue string

	//go:embed toolgate.schema.json
	schema string
)

// Default returns the policy that toolgate runs on without a file.
func Default() []byte { return []byte(defaultPolicy) }

// Catalogue returns the built-in catalogue.
func Catalogue() []byte { return []byte(catalogue) }

// Schema returns the JSON Schema of a policy.
func Schema() []byte { return []byte(schema) }
