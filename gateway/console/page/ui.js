// What every screen is made with: Preact, its signals, and htm instead of JSX.

import htm from "./vendor/htm.js";
import {h, render} from "./vendor/preact.js";
import {useEffect, useLayoutEffect, useMemo, useRef, useState} from "./vendor/hooks.js";
import {computed, effect, signal, useSignal} from "./vendor/signals.js";

export const html = htm.bind(h);
export {computed, effect, render, signal, useEffect, useLayoutEffect, useMemo, useRef, useSignal, useState};
