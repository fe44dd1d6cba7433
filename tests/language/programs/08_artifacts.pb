# Archivist
## Main
### Triggers
- At the beginning
### Steps
- $report = WriteReport("rivers")
- SaveArtifact("rivers", "A report about rivers", $report)
- Summarize $report for the user
- LoadArtifact("rivers")
- Show Artifact["rivers"] to the user
- End program

## WriteReport($topic) -> str
### Steps
- Write a long report about $topic
- Return the report
