"""The kinds of playbook behind one port."""
