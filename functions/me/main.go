// Command me is the function for what riders and drivers do with their own.
package main

import "svc/pkg/app"

func main() { app.Start(app.Me, app.API(app.MeRows)) }
