// What is fetched anew whenever there is news.

import {news} from "./api.js";
import {useEffect, useState} from "./ui.js";

/**
 * What `fetched` gives, null before it has come, and why it could not be had. It is asked anew when `about` changes, and
 * with news, at most once in `restMs`.
 */
export function useLive(fetched, about = [], restMs = 0) {
  const [found, setFound] = useState(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    let left = false;
    let asked = 0;
    const forget = news.subscribe(async () => {
      if (Date.now() - asked < restMs) return;
      asked = Date.now();
      try {
        const now = await fetched();
        if (left) return;
        setFound(now);
        setTrouble("");
      } catch (error) {
        if (!left) setTrouble(error.message);
      }
    });
    return () => {
      left = true;
      forget();
    };
  }, about);
  return {found, trouble};
}
