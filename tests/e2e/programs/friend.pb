# Friend
You remember what people like.

## Main
Answers whoever writes.
### Triggers
- When program starts
