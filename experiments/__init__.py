"""Breaking networks and measuring them: scenarios, injection, probes, timelines, figures, the command line."""
