package schema

import (
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"gopkg.in/yaml.v3"
)

// tableSpec is the table in template.yaml, with CloudFormation's names.
type tableSpec struct {
	AttributeDefinitions []struct {
		AttributeName string `yaml:"AttributeName"`
		AttributeType string `yaml:"AttributeType"`
	} `yaml:"AttributeDefinitions"`
	KeySchema              []keyElement `yaml:"KeySchema"`
	GlobalSecondaryIndexes []struct {
		IndexName  string       `yaml:"IndexName"`
		KeySchema  []keyElement `yaml:"KeySchema"`
		Projection struct {
			ProjectionType string `yaml:"ProjectionType"`
		} `yaml:"Projection"`
	} `yaml:"GlobalSecondaryIndexes"`
	TimeToLive struct {
		AttributeName string `yaml:"AttributeName"`
		Enabled       bool   `yaml:"Enabled"`
	} `yaml:"TimeToLiveSpecification"`
}

// keyElement is one attribute of a key: the partition key (HASH) or the range key (RANGE).
type keyElement struct {
	AttributeName string `yaml:"AttributeName"`
	KeyType       string `yaml:"KeyType"`
}

// specs keeps the table of each template that was parsed, by the template's text.
// A test process creates hundreds of tables, and parsing takes longer than the
// engine takes to create one.
var specs sync.Map

// tableOf returns the only table of the template, and caches it in specs.
func tableOf(template []byte) (tableSpec, error) {
	if spec, ok := specs.Load(string(template)); ok {
		return spec.(tableSpec), nil
	}
	spec, err := parseTable(template)
	if err == nil {
		specs.Store(string(template), spec)
	}
	return spec, err
}

// parseTable returns the only table of the template.
func parseTable(template []byte) (tableSpec, error) {
	var doc struct {
		Resources map[string]struct {
			Type       string    `yaml:"Type"`
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(template, &doc); err != nil {
		return tableSpec{}, fmt.Errorf("template.yaml: %w", err)
	}
	for name, r := range doc.Resources {
		if r.Type != "AWS::DynamoDB::Table" {
			continue
		}
		var spec tableSpec
		if err := r.Properties.Decode(&spec); err != nil {
			return tableSpec{}, fmt.Errorf("template.yaml: resource %s: %w", name, err)
		}
		return spec, nil
	}
	return tableSpec{}, errors.New("template.yaml has no AWS::DynamoDB::Table")
}

// create returns the request that creates the table with the options.
func (s tableSpec) create(o Options) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:   aws.String(o.Name),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keySchema(s.KeySchema),
	}
	for _, a := range s.AttributeDefinitions {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(a.AttributeName), AttributeType: types.ScalarAttributeType(a.AttributeType),
		})
	}
	for _, g := range s.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName:  aws.String(g.IndexName),
			KeySchema:  keySchema(g.KeySchema),
			Projection: &types.Projection{ProjectionType: types.ProjectionType(g.Projection.ProjectionType)},
		})
	}
	if !o.StreamOff {
		in.StreamSpecification = newAndOld
	}
	return in
}

// keySchema converts the keys of the template to those of the SDK.
func keySchema(keys []keyElement) (schema []types.KeySchemaElement) {
	for _, k := range keys {
		schema = append(schema, types.KeySchemaElement{
			AttributeName: aws.String(k.AttributeName), KeyType: types.KeyType(k.KeyType),
		})
	}
	return schema
}
