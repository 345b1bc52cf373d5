package lab

func agentFlag(name, value string) []string {
	switch {
	case name == "member", name == "look" && value == "begin":
		return nil
	case name == "delay":
		name = "lock-delay"
	}
	return []string{"--" + name + "=" + value}
}
