package command

import (
	"strings"

	"parley/actors/kernel"
)

// Skill is a set of commands that an agency can have installed (decisions 19, 37).
type Skill struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Commands    []string `json:"commands"` // with their slashes
}

// skills is the table of the platform's skills, in the order of their names.
var skills = []Skill{
	{"analyze", "Counts the words, sentences and characters of a text.", []string{"/analyze"}},
	{"dice", "Rolls dice, such as /dice 2d6+1.", []string{"/dice"}},
	{"echo", "Repeats what it is given.", []string{"/echo"}},
	{"poll", "Asks the agency a question with several answers to vote on.", []string{"/poll"}},
}

// Skills lists the platform's skills in the order of their names.
func Skills() []Skill { return append([]Skill(nil), skills...) }

// FindSkill finds a skill by its name, in any case. CodeNotFound names those that there are.
func FindSkill(name string) (Skill, error) {
	wanted := strings.ToLower(strings.TrimSpace(name))
	names := make([]string, len(skills))
	for i, s := range skills {
		if s.Name == wanted {
			return s, nil
		}
		names[i] = s.Name
	}
	return Skill{}, kernel.NotFound("there is no such skill; there are %s", strings.Join(names, ", "))
}
