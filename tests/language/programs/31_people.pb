# Host
## Main
### Triggers
- At the beginning
### Steps
- Ask Alice for her opinion
- Ask Bob for his opinion
- Have a review meeting with Alice and Bob
- Tell Alice and Bob what was decided
- End program

## Review
meeting: true
### Steps
- Welcome everyone
- Ask Alice and Bob whether they agree
- End meeting

# Alice:Human
name: Alice
delivery_channel: streaming
meeting_notifications: all

# Bob:Human
delivery_channel: buffered
buffer_timeout: 10
meeting_notifications: targeted
