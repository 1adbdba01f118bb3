package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
)

func zoneCommand(c *cli) *cobra.Command {
	return group("zone", "Dispatch zones of a tenant", c.zoneAdd(), c.zoneList(), c.zoneSet())
}

func zoneFlags(cmd *cobra.Command) *edits[settings.Zone] {
	e := &edits[settings.Zone]{cmd: cmd}
	e.field("priority", "where zones overlap, the zone with the highest `number` applies",
		func(z *settings.Zone) any { return &z.Priority })
	e.field("active", "the zone is in use", func(z *settings.Zone) any { return &z.Active })
	file := cmd.Flags().String("area", "", "`file` with a GeoJSON Polygon or MultiPolygon, or with a Feature of one")
	e.step("area", func(z *settings.Zone) error {
		text, err := os.ReadFile(*file)
		if err != nil {
			return err
		}
		if z.Area, err = settings.ParseArea(text); err != nil {
			return usagef("--area %s: %s", *file, err)
		}
		return nil
	})
	box := cmd.Flags().String("box", "", "`west,south,east,north` in degrees, in place of --area; west is greater than "+
		"east if the box crosses the 180th meridian")
	e.step("box", func(z *settings.Zone) (err error) {
		var sides [4]json.Number
		for i, side := range strings.SplitN(*box, ",", len(sides)) {
			sides[i] = json.Number(strings.TrimSpace(side))
		}
		if z.Area, err = settings.Box(sides[0], sides[1], sides[2], sides[3]); err != nil {
			return usagef("--box %s: %s", *box, err)
		}
		return nil
	})
	return e
}

func (c *cli) zoneAdd() *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG NAME", Short: "Add a zone",
		Example: "  svc zone add metro Uptown --box=-73.98,40.77,-73.94,40.81 --priority 5\n  svc zone add metro " +
			"Airport --area airport.geojson"}
	e := zoneFlags(cmd)
	e.given("active", "true")
	cmd.MarkFlagsMutuallyExclusive("area", "box")
	cmd.MarkFlagsOneRequired("area", "box")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
		z := settings.Zone{Name: args[1], Active: true}
		if err := e.apply(&z); err != nil {
			return err
		}
		z, err := settings.AddZone(ctx, t, by(), z)
		if err != nil {
			return err
		}
		return c.done(z, "Added zone %s (%s).", z.Name, z.ID)
	})
	return cmd
}

func (c *cli) zoneList() *cobra.Command {
	return &cobra.Command{Use: "list SLUG", Short: "List zones", Example: "  svc zone list metro",
		RunE: c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
			found, err := settings.Zones(ctx, t)
			if err != nil {
				return err
			}
			table := cols{head: "NAME PRIORITY ACTIVE ID"}
			for _, z := range found {
				table.add(z.Name, z.Priority, z.Active, z.ID)
			}
			return c.show(found, table)
		})}
}

func (c *cli) zoneSet() *cobra.Command {
	cmd := &cobra.Command{Use: "set SLUG ID", Short: "Change a zone",
		Example: "  svc zone set metro zon_01JMETR0000000000000000001 --active=false"}
	e := zoneFlags(cmd)
	e.field("name", "`name` for people", func(z *settings.Zone) any { return &z.Name })
	cmd.MarkFlagsMutuallyExclusive("area", "box")
	cmd.RunE = e.change(c, func(ctx context.Context, t table.Tenant, args []string) error {
		z, err := settings.SetZone(ctx, t, by(), args[1], e.apply)
		if err != nil {
			return missing(err, "zone", args[1])
		}
		return c.done(z, "Changed zone %s.", z.Name)
	})
	return cmd
}
