package demo

import "svc/pkg/domain/feedback"

// suggestions are the demo's roadmap, in English and Portuguese.
var suggestions = []suggestion{
	{
		by: metroOffice, kind: feedback.Idea, status: feedback.InProgress, category: "dispatch", days: 96,
		title: "Dark theme for the dispatch map",
		texts: feedback.Texts{Body: "Our night desk looks at the map for eight hours. A dark theme that follows the " +
			"hour would spare everybody's eyes."},
		voters: everyOperator,
		comments: []reply{
			{harborOffice, 80, "Por favor! O mapa branco cega às três da manhã."},
			{bothInMetro, 21, "A first version is being tried by two fleets. Pickup pins stay readable, heat areas do not yet."},
		},
	},
	{
		by: harborOffice, kind: feedback.Idea, status: feedback.Planned, category: "payments", days: 71,
		title: "Recibos com o NIF do passageiro", titleEn: "Receipts with the rider's tax number",
		texts: feedback.Texts{
			Body: "Muitos passageiros pedem fatura com NIF depois da viagem. Hoje respondemos um a um, por correio eletrónico.",
			BodyEn: text("Many riders ask for an invoice with their tax number after the ride. Today we answer each of " +
				"them by mail.")},
		voters: []voter{harborOffice, bothInHarbor},
		comments: []reply{{metroOffice, 60,
			"We do not need the tax number, but a cost centre on the receipt would help our business accounts the same way."}},
	},
	{
		by: metroOffice, kind: feedback.Bug, status: feedback.Planned, category: "driver-app", days: 33,
		title: "Position freezes in the harbor tunnel",
		texts: feedback.Texts{
			Body: "The car stays at the tunnel's entrance until it comes out, and the rider thinks that nobody is coming.",
			Bug: &feedback.BugReport{AppVersion: "4.2.0", AppBuild: "4211", Platform: "ANDROID",
				StepsToReproduce: "1. Accept a trip on the east bank.\n2. Drive through the tunnel.\n3. Watch the rider's map.",
				ExpectedBehavior: "The car moves on at its last speed and is corrected at the exit.",
				ActualBehavior:   "The car stands still for about two minutes and then jumps.",
				DeviceInfo:       "Several phones, Android 13 to 15"}},
		voters:   []voter{metroOffice, bothInMetro},
		comments: []reply{{bothInMetro, 30, "Seen on iOS as well, there it lasts about twenty seconds."}},
	},
	{
		by: bothInMetro, kind: feedback.Idea, status: feedback.UnderReview, category: "reports", days: 19,
		title: "Export the report summary as a spreadsheet",
		texts: feedback.Texts{Body: "One row a day with trips by status, revenue and active drivers. Finance copies " +
			"these numbers by hand every Monday."},
		voters: []voter{metroOffice, bothInMetro},
	},
	{
		by: harborOffice, kind: feedback.Idea, status: feedback.UnderReview, category: "riders", days: 12,
		title: "Pedir viagem para outra pessoa", titleEn: "Request a ride for somebody else",
		texts: feedback.Texts{
			Body: "Filhos pedem viagens para os pais, hotéis para os hóspedes. O motorista devia ver o nome e o telefone " +
				"de quem viaja.",
			BodyEn: text("Children request rides for their parents, hotels for their guests. The driver should see who " +
				"travels and how to call them.")},
		voters: []voter{harborOffice, metroOffice},
		comments: []reply{
			{metroOffice, 11, "Our hotels ask for this every week."},
			{harborOffice, 9, "Bastava um campo opcional no pedido."},
		},
	},
	{
		by: metroOffice, kind: feedback.Idea, status: feedback.UnderReview, category: "delivery", days: 8,
		title: "Let a business pause its orders",
		texts: feedback.Texts{Body: "At rush hour a kitchen should be able to stop new orders for half an hour without " +
			"calling us."},
		voters: []voter{metroOffice},
	},
	{
		by: harborOffice, kind: feedback.Bug, status: feedback.UnderReview, category: "dashboard", days: 6,
		title: "Datas no formato errado no painel", titleEn: "Dates in the wrong format on the dashboard",
		texts: feedback.Texts{
			Body: "O painel mostra 03/04 quando a viagem foi a 4 de março. Devia seguir a língua de quem está a ver.",
			BodyEn: text("The dashboard shows 03/04 for a trip on the 4th of March. It should follow the language of " +
				"whoever looks."),
			Bug: &feedback.BugReport{Platform: "WEB", ActualBehavior: "Month before day, whatever the language."}},
		voters: []voter{harborOffice, bothInHarbor},
	},
	{
		by: bothInHarbor, kind: feedback.Idea, status: feedback.UnderReview, category: "drivers", days: 3,
		title: "Show a driver the week's earnings at a glance",
		texts: feedback.Texts{Body: "The wallet lists every posting. A total for today and for the week is what " +
			"drivers ask us for."},
		voters: []voter{bothInHarbor},
	},
	{
		by: metroOffice, kind: feedback.Bug, status: feedback.UnderReview, category: "dashboard", days: 1,
		title: "Filter by driver forgets itself after a reload",
		texts: feedback.Texts{
			Body: "Choose a driver in the list of trips and reload the page: the filter is gone.",
			Bug: &feedback.BugReport{AppVersion: "4.3.1", Platform: "WEB", StepsToReproduce: "Choose a driver, reload.",
				DeviceInfo: "Firefox, Chromium"}},
		voters: []voter{metroOffice},
	},
	{
		by: bothInMetro, kind: feedback.Idea, status: feedback.Completed, category: "dispatch", days: 180,
		title: "Cancel reasons in the trip log",
		texts: feedback.Texts{Body: "When a rider cancels, the log should say why, so that we can tell a late driver " +
			"from a change of plans."},
		voters:   everyOperator,
		comments: []reply{{harborOffice, 140, "Já usamos, muito útil. Obrigado!"}},
	},
	{
		by: harborOffice, kind: feedback.Idea, status: feedback.Completed, category: "branding", days: 150,
		title: "Cores da empresa na página de entrada", titleEn: "Company colours on the sign-in page",
		texts: feedback.Texts{
			Body:   "Os passageiros desconfiam de uma página sem a nossa marca.",
			BodyEn: text("Riders distrust a page that does not carry our brand.")},
		voters: []voter{harborOffice, metroOffice},
	},
	{
		by: metroOffice, kind: feedback.Idea, status: feedback.Rejected, category: "riders", days: 120,
		title:  "Show riders the driver's private number",
		texts:  feedback.Texts{Body: "Calls through the switchboard are sometimes slow. The number itself would be faster."},
		voters: []voter{metroOffice},
		comments: []reply{{bothInMetro, 110,
			"We will not show private numbers. Faster calls are worth a post of their own."}},
	},
}
