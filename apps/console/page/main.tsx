import './page.css';

import { render } from 'preact';

import { App } from './app.js';

const place = document.getElementById('page');
if (place !== null) render(<App />, place);
