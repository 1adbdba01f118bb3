// Command delivery is the function for businesses and orders.
package main

import "svc/pkg/app"

func main() { app.Start(app.Delivery, app.API(app.DeliveryRows)) }
