import { render } from 'preact'
import { finish } from './app/session'
import { Shell } from './app/shell'
import './style.css'

void finish().then(failed => render(<Shell failed={failed} />, document.getElementById('app')!))
