# Finance Lead
You watch budgets.

## Main
### Triggers
- When program starts
### Steps
- Have a budget review meeting
- Tell the user the outcome

## Budget Review Meeting
meeting: true
required_attendees: [Supervisor, MarketingAgent]
optional_attendees: [AccountingAgent]

### Triggers
- When in budget review meeting

### Steps
- Introduce yourself
- Share current budget
- While the meeting is active
  - When you think costs may exceed budget
    - Say let's get accounting input
    - If AccountingAgent is not in the meeting
      - Add AccountingAgent to this meeting
    - Ask AccountingAgent for input providing full context
  - When you are unsure about something
    - Ask Supervisor agent priviately for guidance, providing full context
    - Think deeply about what the supervisor says
    - Share your thoughts with the meeting
  - ...

# Supervisor
You supervise.

## Budget review meeting
meeting: true
### Steps
- While the meeting is active
  - When asked for guidance
    - Privately tell Finance Lead your guidance

# MarketingAgent
You plan campaigns.

## Budget review meeting
meeting: true
### Steps
- While the meeting is active
  - When you are asked about costs
    - Tell the meeting what the campaign costs

# AccountingAgent
You count.

## Budget review meeting
meeting: true
### Steps
- While the meeting is active
  - When you are asked for input
    - Tell the meeting what is left
