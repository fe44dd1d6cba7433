---
title: Somebody is added to a meeting, and asked in private
---

# CampaignLead
You plan a campaign and keep its budget.

## Review
### Triggers
- When program starts
### Steps
- Ask the user what the campaign is about and keep it as $campaign:str
- $verdict:str = BudgetReviewMeeting(campaign=$campaign)
- Tell the user the $verdict
- End program

## BudgetReviewMeeting($campaign:str) -> str
meeting: true
required_attendees: [Supervisor, Marketing]
optional_attendees: []

### Steps
- Share the $campaign and the current budget with the meeting
- While the meeting is active and there is no $verdict
  - Wait for the meeting
  - When the costs may exceed the budget
    - Say to the meeting that accounting should have a look
    - Add Accounting to this meeting
    - Ask the meeting for the input of Accounting
  - When Accounting has answered
    - Privately ask Supervisor for guidance, with the full context
    - $verdict:str = what the supervisor says, in a sentence
    - Share the $verdict with the meeting
- End meeting
- Return $verdict

# Supervisor
You decide what is spent.

## BudgetReviewMeeting
meeting: true

### Steps
- While the meeting is active
  - Wait for the meeting
  - When somebody asks you in private
    - Answer CampaignLead in private
- Return

# Marketing
You make campaigns.

## BudgetReviewMeeting
meeting: true

### Steps
- While the meeting is active
  - Wait for the meeting
  - When the campaign was shared
    - Tell the meeting what the campaign will cost
- Return

# Accounting
You know what there is to spend.

## BudgetReviewMeeting
meeting: true

### Steps
- While the meeting is active
  - Wait for the meeting
  - When asked for input
    - Tell the meeting what is left of the budget
- Return
