// Package deliver sends events to webhook endpoints. Its worker takes messages from
// a queue: one for each event and endpoint, so an endpoint that hangs delays no
// other. It checks at every attempt that the endpoint still wants the event, signs
// the stored bytes of the event, records the attempt, and plans the next one.
//
// A message may come twice, and a process may end at any point. So each attempt has
// a number: an attempt that is recorded is not made again. One transaction
// stores the record of a failed attempt and the due task (pkg/data/due) of the next one.
// An event may be sent twice, with the same id, and is never lost.
package deliver
