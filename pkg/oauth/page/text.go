package page

import "fmt"

// pair is a text in the two languages.
type pair struct{ en, es string }

func (l Lang) of(p pair) string {
	if l == Spanish {
		return p.es
	}
	return p.en
}

// text returns the text of a key. For an unknown key it returns an error, because
// a page with a missing text must not be sent.
func (l Lang) text(key string, args ...any) (string, error) {
	p, ok := texts[key]
	if !ok {
		return "", fmt.Errorf("no text of the pages has the key %q", key)
	}
	if len(args) > 0 {
		return fmt.Sprintf(l.of(p), args...), nil
	}
	return l.of(p), nil
}

var cookiesRefused = pair{
	"Your browser did not send back this page's cookie. Allow cookies for this site and try again.",
	"Tu navegador no devolvió la cookie de esta página. Permite las cookies de este sitio e inténtalo de nuevo.",
}

var texts = map[string]pair{
	"email":    {"Email address", "Correo electrónico"},
	"password": {"Password", "Contraseña"},
	"signedin": {"Signed in as", "Sesión iniciada como"},
	"switch":   {"Use another account", "Usar otra cuenta"},
	"support":  {"Help", "Ayuda"},
	"terms":    {"Terms", "Condiciones"},
	"privacy":  {"Privacy", "Privacidad"},
	"request":  {"Request", "Solicitud"},

	"signin.title":   {"Sign in", "Iniciar sesión"},
	"signin.company": {"To continue to an application of", "Para continuar a una aplicación de"},
	"signin.platform": {
		"To continue to an application of this service itself:",
		"Para continuar a una aplicación de este mismo servicio:",
	},
	"signin.claim":  {"To continue to an application that calls itself:", "Para continuar a una aplicación llamada:"},
	"signin.rider":  {"Use your rider account.", "Usa tu cuenta de pasajero."},
	"signin.driver": {"Use your driver account.", "Usa tu cuenta de conductor."},
	"signin.button": {"Sign in", "Iniciar sesión"},
	"signin.forgot": {
		"No password yet, or forgotten? Ask the company for a link to set one.",
		"¿Aún no tienes contraseña o la olvidaste? Pide a la empresa un enlace para crearla.",
	},
	"signin.wrong": {
		"The email address or the password is not right, or the account cannot sign in here.",
		"El correo electrónico o la contraseña no son correctos, o la cuenta no puede iniciar sesión aquí.",
	},
	"signin.riders":  {"I am a rider", "Soy pasajero"},
	"signin.drivers": {"I am a driver", "Soy conductor"},
	"signin.cookies": cookiesRefused,
	"signin.wait":    {"Too many attempts. Try again in %d min.", "Demasiados intentos. Inténtalo de nuevo en %d min."},
	"signin.throttled": {
		"You can sign in now with a browser in which you signed in before, or with a link to set a new password.",
		"Puedes entrar ahora con un navegador en el que ya iniciaste sesión o con un enlace para crear una contraseña " +
			"nueva.",
	},

	"signin.busy": {
		"The service is busy and did not sign you in. Enter your password and try again.",
		"El servicio está ocupado y no inició tu sesión. Escribe tu contraseña e inténtalo de nuevo.",
	},

	"forgot.cookies": cookiesRefused,
	"forgot.busy": {
		"The service is busy and sent no link. Try again in a moment.",
		"El servicio está ocupado y no envió el enlace. Inténtalo de nuevo en un momento.",
	},
	"forgot.link":   {"Forgot your password, or have none yet?", "¿Olvidaste tu contraseña o aún no tienes?"},
	"forgot.title":  {"Set a new password", "Crear una contraseña nueva"},
	"forgot.rider":  {"For your rider account.", "Para tu cuenta de pasajero."},
	"forgot.driver": {"For your driver account.", "Para tu cuenta de conductor."},
	"forgot.text": {
		"We will send a link to the email address of your account.",
		"Enviaremos un enlace al correo electrónico de tu cuenta.",
	},
	"forgot.button": {"Send the link", "Enviar el enlace"},
	"forgot.throttled": {
		"Too many requests. Try again in an hour.",
		"Demasiadas solicitudes. Vuelve a intentarlo en una hora.",
	},
	"mail.subject": {"Set a new password", "Crea una contraseña nueva"},
	"mail.text": {
		"Somebody asked for a link to set a new password for your account. The link works once, within an hour:" +
			"\n\n%s\n\nIf that was not you, you need not do anything: your password stays as it is.\n",
		"Alguien ha pedido un enlace para crear una contraseña nueva para tu cuenta. Funciona una sola vez, durante una " +
			"hora:\n\n%s\n\nSi no fuiste tú, no tienes que hacer nada: tu contraseña sigue igual.\n",
	},

	"company.title":  {"Which company?", "¿Qué empresa?"},
	"company.rider":  {"Your rider account belongs to a company.", "Tu cuenta de pasajero pertenece a una empresa."},
	"company.driver": {"Your driver account belongs to a company.", "Tu cuenta de conductor pertenece a una empresa."},
	"company.name":   {"Short name of the company", "Nombre corto de la empresa"},
	"company.rule": {
		"For example metro-cabs. The company can tell you.",
		"Por ejemplo, metro-cabs. La empresa puede decírtelo.",
	},
	"company.unknown": {"There is no company with this short name.", "No hay ninguna empresa con ese nombre corto."},
	"company.button":  {"Continue", "Continuar"},
	"company.other":   {"Choose another company", "Elegir otra empresa"},

	"picker.title": {"Choose a company", "Elige una empresa"},
	"picker.none":  {"This account belongs to no company.", "Esta cuenta no pertenece a ninguna empresa."},

	"consent.title": {"Allow access?", "¿Permitir el acceso?"},
	"consent.asks": {"An application asks for access to your account with",
		"Una aplicación solicita acceso a tu cuenta de"},
	"consent.company": {"You continue to an application of", "Continúas a una aplicación de"},
	"consent.platform": {
		"An application of this service itself asks for access to your account with",
		"Una aplicación de este mismo servicio solicita acceso a tu cuenta de",
	},
	"consent.claim": {"It calls itself:", "Se hace llamar:"},
	"consent.unverified": {
		"It is made by somebody else, and its name was not verified.",
		"La creó un tercero y su nombre no ha sido verificado.",
	},
	"consent.site":  {"All that is known of it is its web address:", "Solo se conoce su dirección web:"},
	"consent.host":  {"Your answer is sent to", "Recibirá tu respuesta en"},
	"consent.local": {"It runs on this device.", "Se ejecuta en este dispositivo."},
	"consent.agent": {
		"This is an AI agent: a program that decides by itself what to do with this access.",
		"Es un agente de IA: un programa que decide por sí mismo qué hacer con este acceso.",
	},
	"consent.agent.off": {
		"The company lets agents do nothing now.",
		"La empresa no deja ahora que los agentes hagan nada.",
	},
	"consent.agent.read": {
		"The company lets agents read only. They can change nothing.",
		"La empresa solo deja que los agentes lean. No pueden cambiar nada.",
	},
	"consent.agent.confirm": {
		"It may act as you. What moves people or money needs your agreement each time.",
		"Puede actuar como tú. Lo que mueve personas o dinero necesita tu acuerdo cada vez.",
	},
	"consent.agent.all": {
		"It may act as you without asking again, also where people or money move.",
		"Puede actuar como tú sin volver a preguntar, también donde se mueven personas o dinero.",
	},
	"consent.will": {"It will be able to:", "Podrá:"},
	"consent.later": {
		"Not possible here yet, but you allow it too:",
		"Aquí todavía no es posible, pero también lo autorizas:",
	},
	"consent.theirs": {
		"What the application itself says:",
		"Lo que dice la propia aplicación:",
	},
	"consent.allow": {"Allow", "Permitir"},
	"consent.deny":  {"Deny", "Rechazar"},
	"consent.end": {
		"You can end the access at any time:",
		"Puedes retirar el acceso en cualquier momento:",
	},

	"apps.title": {"Connected applications", "Aplicaciones conectadas"},
	"apps.text": {
		"These applications may act for you. Ending the access signs them out on every device.",
		"Estas aplicaciones pueden actuar por ti. Si retiras el acceso, se cierra su sesión en todos los dispositivos.",
	},
	"apps.none":    {"No application may act for you.", "Ninguna aplicación puede actuar por ti."},
	"apps.allowed": {"Last allowed", "Permitida por última vez:"},
	"apps.later":   {"not possible here yet", "aquí todavía no es posible"},
	"apps.end":     {"End access", "Retirar acceso"},
	"apps.ended":   {"The access was ended.", "Se retiró el acceso."},

	"logout.title":  {"Sign out?", "¿Cerrar sesión?"},
	"logout.button": {"Sign out", "Cerrar sesión"},

	"password.set":    {"Set your password", "Crea tu contraseña"},
	"password.reset":  {"Choose a new password", "Elige una nueva contraseña"},
	"password.for":    {"For", "Para"},
	"password.new":    {"New password", "Nueva contraseña"},
	"password.again":  {"The same again", "Repítela"},
	"password.button": {"Save", "Guardar"},
	"password.rule": {
		"At least %d characters. A few words in a row are good.",
		"Al menos %d caracteres. Unas cuantas palabras seguidas son una buena opción.",
	},
	"password.cookies": cookiesRefused,
	"password.busy": {
		"The service is busy. Enter the new password again to try again.",
		"El servicio está ocupado. Escribe de nuevo la contraseña nueva para intentarlo otra vez.",
	},
	"password.short": {"The password is too short.", "La contraseña es demasiado corta."},
	"password.long":  {"The password is too long.", "La contraseña es demasiado larga."},
	"password.differ": {
		"The two passwords are not the same.",
		"Las dos contraseñas no coinciden.",
	},
	"password.email": {
		"The password must not be your email address.",
		"La contraseña no puede ser tu correo electrónico.",
	},

	"message.back": {"The application waits at", "La aplicación espera en"},

	"message.leave.title": {"Back to the application", "De vuelta a la aplicación"},
	"message.leave.text": {
		"You are on your way. If nothing happens, follow the link.",
		"Ya casi estás. Si no ocurre nada, sigue el enlace.",
	},

	"message.request.title": {"This request cannot be answered", "No se puede responder a esta solicitud"},
	"message.request.text": {
		"The request is not valid. Go back and try again. If an application sent you here and this does not help, tell " +
			"its makers.",
		"La solicitud no es válida. Vuelve atrás e inténtalo de nuevo. Si te envió aquí una aplicación y esto no " +
			"funciona, avisa a sus creadores.",
	},
	"message.client.title": {"Unknown application", "Aplicación desconocida"},
	"message.client.text": {
		"The application that sent you here is not known, or was switched off.",
		"La aplicación que te envió aquí no se conoce o fue desactivada.",
	},
	"message.redirect.title": {"Unknown return address", "Dirección de retorno desconocida"},
	"message.redirect.text": {
		"The application gave a return address that is not registered for it. You were not sent there.",
		"La aplicación indicó una dirección de retorno que no tiene registrada. No te enviamos allí.",
	},
	"message.tenant.title": {"Unknown company", "Empresa desconocida"},
	"message.tenant.text": {
		"The request names a company that is not known here.",
		"La solicitud nombra una empresa que no se conoce aquí.",
	},
	"message.link.title": {"This link is no longer good", "Este enlace ya no es válido"},
	"message.link.text": {
		"A link to set a password works once and for a limited time. Ask for a new one.",
		"El enlace para crear una contraseña funciona una sola vez y por tiempo limitado. Pide uno nuevo.",
	},
	"message.mailed.title": {"Check your mail", "Revisa tu correo"},
	"message.mailed.text": {
		"If there is an account with this address, we have sent a link to it. The link works once, within an hour.",
		"Si existe una cuenta con esta dirección, le hemos enviado un enlace. Funciona una sola vez, durante una hora.",
	},
	"message.saved.title": {"Your password is saved", "Tu contraseña está guardada"},
	"message.saved.text": {
		"Go back to your application, or continue here, and sign in with the new password. Everywhere you were signed " +
			"in, you have to sign in again. Applications have to ask you for access again.",
		"Vuelve a tu aplicación e inicia sesión con ella, o inicia sesión aquí. Donde tenías la sesión iniciada, " +
			"tendrás que volver a iniciarla, y las aplicaciones tendrán que pedirte permiso de nuevo.",
	},
	"message.saved.again":  {"Sign in", "Iniciar sesión"},
	"message.onward.title": {"One moment", "Un momento"},
	"message.onward.text": {
		"You are on your way. If nothing happens, continue here.",
		"Ya casi estás. Si no ocurre nada, continúa aquí.",
	},
	"message.onward.again":    {"Continue", "Continuar"},
	"message.signedout.title": {"You are signed out", "Has cerrado la sesión"},
	"message.signedout.text": {
		"Applications that you allowed keep their access until you end it under your connected applications.",
		"Las aplicaciones a las que diste acceso lo conservan hasta que lo retires en tus aplicaciones conectadas.",
	},
	"message.busy.title": {"The service is busy", "El servicio está ocupado"},
	"message.busy.text": {
		"Nothing is lost. Try again in a moment.",
		"No se ha perdido nada. Inténtalo de nuevo en un momento.",
	},
	"message.busy.again":   {"Try again", "Intentar de nuevo"},
	"message.failed.title": {"Something went wrong", "Algo salió mal"},
	"message.failed.text": {
		"The service could not answer. Try again in a moment.",
		"El servicio no pudo responder. Inténtalo de nuevo en un momento.",
	},
}
