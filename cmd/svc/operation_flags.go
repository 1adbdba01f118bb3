package main

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/spf13/cobra"
)

// flags adds the flags of the operation's fields, and those with older names.
func (op *operation) flags(cmd *cobra.Command) map[string]*flagValue {
	in := map[string]*flagValue{}
	add := func(name, help string, g *flagValue) {
		flag := cmd.Flags().VarPF(g, name, "", help)
		if g.read == nil && g.schema.Type == huma.TypeBoolean {
			flag.NoOptDefVal = "true"
		}
		if words := g.words(); words != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
		flag.Hidden = g.of != nil && g.read == nil
	}
	for _, f := range op.fields {
		g := &flagValue{field: f}
		if in[f.name] = g; f.name == "limit" && op.pages {
			g.text, g.schema = "How many to show at most. The default is 100.", &huma.Schema{Type: huma.TypeInteger,
				Minimum: new(1.0)}
		}
		add(f.flag(), g.help(op.needs(f), op.Method == http.MethodPatch), g)
	}
	for name, old := range op.old {
		to := in[old.member]
		help := old.help
		if help == "" {
			help = "the same as --" + to.flag()
		}
		if cmd.Flags().Lookup(name) == nil {
			add(name, help, &flagValue{field: to.field, read: old.read, of: to})
		}
	}
	return in
}
