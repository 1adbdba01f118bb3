import './app/tag' // before the libraries
import { render } from 'preact'
import { begin } from './app/session'
import { Shell } from './app/shell'
import './style.css'

void begin().then(failed => render(<Shell failed={failed} />, document.getElementById('app')!))
