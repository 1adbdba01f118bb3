// Command delivery is the Lambda function that serves the endpoints of businesses, menus and orders.
package main

import "svc/pkg/app"

func main() { app.Start(app.Delivery, app.API(app.DeliveryRows)) }
