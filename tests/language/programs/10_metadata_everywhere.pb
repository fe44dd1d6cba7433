---
title: Metadata
author: Ada
application: test
---
# Scattered
author: Bo

Does things.

startup_mode: standby
colour: green

metadata:
  nested:
    deep: [1, 2]
---

Ends.

## A
hidden: true
About A.

description: More about A.
model: small
- Think
