package operation

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
)

// flags adds to a command a flag for each field of the operation, and the flags that
// earlier versions had. It returns the values of the flags by the name of the field.
func (op *Operation) flags(cmd *cobra.Command) map[string]*cli.FlagValue {
	in := map[string]*cli.FlagValue{}
	add := func(name, help string, g *cli.FlagValue) {
		flag := cmd.Flags().VarPF(g, name, "", help)
		if g.Read == nil && g.Schema.Type == huma.TypeBoolean {
			flag.NoOptDefVal = "true"
		}
		if words := g.Words(); words != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
		flag.Hidden = g.Of != nil && g.Read == nil
	}
	for _, f := range op.Fields {
		g := &cli.FlagValue{Field: f}
		if in[f.Name] = g; f.Name == "limit" && op.pages {
			g.Text, g.Schema = "How many to show at most. The default is 100.", &huma.Schema{Type: huma.TypeInteger,
				Minimum: new(1.0)}
		}
		add(f.Flag(), g.Help(op.Needs(f), op.Method == http.MethodPatch), g)
	}
	for name, old := range op.old {
		to := in[old.member]
		help := old.help
		if help == "" {
			help = "the same as --" + to.Flag()
		}
		if cmd.Flags().Lookup(name) == nil {
			add(name, help, &cli.FlagValue{Field: to.Field, Read: old.read, Of: to})
		}
	}
	return in
}
