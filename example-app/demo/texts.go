package demo

// theme is what many pages are about. {thing} stands for one of its things.
type theme struct {
	topic     string
	also      []string
	things    []string
	titles    []string
	sentences []string
	extra     string // a block that some pages have between the others
}

// endings make titles that would be there twice different.
var endings = []string{
	"again", "a year later", "from the other side", "by bus", "with a guest", "without a map", "in the rain",
	"the long version", "the short version", "in May", "in June", "in November", "after dark", "on a Tuesday",
	"with both hands", "and what came of it", "slowly", "against advice", "from memory", "with the window open",
	"the second attempt", "the third attempt", "for beginners", "in half the time", "revisited",
}

var themes = []theme{
	{
		topic: "walks", also: []string{"morning", "maps", "quiet"},
		things: []string{"the canal", "the old quarry", "the ridge", "the community gardens", "the beltway", "the water tower", "the long hedge", "the ferry steps"},
		titles: []string{"Around {thing} before breakfast", "{thing}, in the wrong shoes", "Why I keep going back to {thing}", "An hour at {thing}", "Past {thing}, counting steps"},
		sentences: []string{
			"I left at six, when the street still belonged to the foxes.",
			"There is a gap in the fence at {thing} that everybody knows and nobody mentions.",
			"The path is mud for the first half and a promise for the second.",
			"Someone has painted small blue arrows, and they lead to a bench.",
			"I met one dog, two joggers and a man with a ladder.",
			"From {thing} you can see three church towers, and on Sundays you can hear two of them.",
			"It took an hour and ten, or fifty minutes without the blackberries.",
			"My rule is to turn left wherever I turned right last time.",
			"The map says there is a bridge. The map is from before the flood.",
			"On the way back the light was behind me, and it was a different walk altogether.",
		},
		extra: "> The best route is the one you would be embarrassed to explain.",
	},
	{
		topic: "snow", also: []string{"winter", "footprints", "quiet"},
		things: []string{"the first snow", "wet snow", "April snow", "snow on the line", "night snow", "old snow", "drifting snow"},
		titles: []string{"What {thing} sounds like", "Notes on {thing}", "{thing} and who walked in it", "Three kinds of {thing}", "After {thing}"},
		sentences: []string{
			"You can tell by the light on the ceiling before you look outside.",
			"A cat has been to the shed and changed its mind halfway.",
			"With {thing} every sound seems to come from the next room.",
			"The children have made one slope, and used all of it.",
			"Two bars, two bars, two bars: someone was out in clogs.",
			"By noon {thing} was a rumour, and by four a puddle.",
			"I shoveled the neighbor's half as well. It was easier than stopping at a line.",
			"A crow leaves its signature and underlines it with a wing.",
			"The bus did not come, so all of us at the stop got acquainted.",
			"I measured it with a ruler from school: eleven centimeters and a bit.",
		},
		extra: "## How to read a print\n\n- deep at the heel: in a hurry\n- deep at the toe: uphill, or late\n- both the same: a child with nowhere to be",
	},
	{
		topic: "tea", also: []string{"kitchen", "slow", "morning"},
		things: []string{"green tea", "barley tea", "black tea", "nettle tea", "cold tea", "the last of the tin", "smoked tea"},
		titles: []string{"{thing} at four o'clock", "How long for {thing}", "{thing} in a cracked pot", "In defense of {thing}", "{thing}, weighed and timed"},
		sentences: []string{
			"The kettle is older than the kitchen, and louder.",
			"I weigh it now, two grams to the cup, and have stopped guessing.",
			"With {thing} the second pour is the one worth waiting for.",
			"Eighty degrees is when the bubbles are the size of fish eyes.",
			"The crack in the pot only leaks if you look at it.",
			"A visitor asked for milk. I gave it to them, and we are still friends.",
			"Left for an hour, {thing} turns into something you could paint a fence with.",
			"I keep the leaves for the roses, who have not complained.",
			"It tastes of hay, and a little of the cupboard it lived in.",
			"Nothing gets decided in this house before the second cup.",
		},
		extra: "1. Warm the pot.\n2. Empty the pot.\n3. Only now look for the tea.",
	},
	{
		topic: "tools", also: []string{"mending", "workshop", "slow"},
		things: []string{"a block plane", "a pin vise", "a bradawl", "a borrowed ladder", "a bent nail", "a whetstone", "a coping saw"},
		titles: []string{"Learning {thing}", "What {thing} is good for", "{thing} and a free Saturday", "I bought {thing} at the flea market", "Looking after {thing}"},
		sentences: []string{
			"The handle had been repaired twice, by two people who did not agree.",
			"Rust comes off with vinegar, patience and an old toothbrush.",
			"The trick with {thing} is to let it do the work and to look as if you did.",
			"My grandfather had three of these, and called each of them the good one.",
			"Measure twice, then measure the thing you measured with.",
			"It cost four euros, and the rest of the afternoon.",
			"A drop of oil, once a month, and {thing} will see us all out.",
			"I made a box for it. The box is better than anything I have made with it.",
			"The first cut was crooked. The second one was crooked on purpose.",
			"Sharp is not a state, it is a habit.",
		},
		extra: "### In the drawer\n\n* the good screwdriver\n* four that are not\n* a key that fits nothing",
	},
	{
		topic: "small-code", also: []string{"tools", "mistakes", "numbers"},
		things: []string{"a shell script", "a word counter", "a bus schedule parser", "a tiny web server", "a sorting routine", "a backup job", "a calendar"},
		titles: []string{"{thing} in forty lines", "Deleting half of {thing}", "The bug in {thing}", "{thing} that I actually use", "Writing {thing} on a train"},
		sentences: []string{
			"It does one thing, and it does it at ten past three every night.",
			"The first version of {thing} had options. The second one has a name.",
			"I read it aloud, and the part I stumbled over was the part that was wrong.",
			"Off by one, as ever: there are eleven fence posts around ten gaps.",
			"The test took longer to write than the fix, and found two more.",
			"Nobody else will ever run {thing}, which is no excuse.",
			"I gave the variable a longer name, and the comment could go.",
			"It was slow because it was polite: it asked the disk every single time.",
			"There is a line in {thing} that I do not understand, and I wrote it.",
			"Half a year later I could still read it, which is the only benchmark I keep.",
		},
		extra: "```\nwhile read line; do\n  echo \"$line\" | wc -w\ndone\n```",
	},
	{
		topic: "garden", also: []string{"weather", "patience", "kitchen"},
		things: []string{"broad beans", "the compost", "a pear tree", "slugs", "garlic", "the rain barrel", "self-sown poppies"},
		titles: []string{"{thing} this year", "Giving up on {thing}", "{thing}: a truce", "What {thing} taught me", "Too early for {thing}"},
		sentences: []string{
			"Everything came up at once, like guests.",
			"I planted {thing} where the sun was in May, and the sun has moved.",
			"The blackbird has better information than the forecast.",
			"Next year I will label the rows. I said so last year too.",
			"With {thing} the work is in January and the credit is in June.",
			"The neighbor's cat has opened a branch office among the leeks.",
			"It rained for three days, and then it rained properly.",
			"Half of it went into the soup and half of it over the fence.",
			"There are two schools of thought about {thing}, and one watering can.",
			"Weeds are what the garden would like to grow.",
		},
		extra: "> Dig less. *Look* more. Then dig a little.",
	},
	{
		topic: "trains", also: []string{"maps", "waiting", "numbers"},
		things: []string{"the 6:12", "the branch line", "the night train", "platform three", "the flag stop", "the replacement bus", "the last car"},
		titles: []string{"In praise of {thing}", "{thing}, late again", "Strangers on {thing}", "What you see from {thing}", "{thing} in four seasons"},
		sentences: []string{
			"The conductor knows who gets off where, and slows down for one of us.",
			"On {thing} nobody speaks until the tunnel, and then everybody does.",
			"Seven minutes late is the new on time.",
			"There is a field with one horse, and I look for it every morning.",
			"Someone had left a chess problem on the seat: mate in two, and I missed my stop.",
			"The schedule is a work of fiction with a very consistent style.",
			"From {thing} you see the backs of houses, which is where people live.",
			"A child asked where the rails go once we are past them.",
			"The heating has two settings: off, and Finland.",
			"I have read more books on {thing} than at any desk.",
		},
		extra: "Two things to bring along:\n\n- a pencil\n- something with a **peel**",
	},
	{
		topic: "bread", also: []string{"kitchen", "mistakes", "patience"},
		things: []string{"rye", "flat loaves", "the starter", "burnt crusts", "Sunday rolls", "a heavy loaf", "day-old bread"},
		titles: []string{"{thing}, again", "How I ruin {thing}", "{thing} for six people", "Getting {thing} right", "A short history of {thing} in my oven"},
		sentences: []string{
			"Flour, water, salt, and a week of waiting.",
			"The dough told me it was ready, and I did not listen.",
			"With {thing} a warm kitchen is a mixed blessing.",
			"My oven has two temperatures, and the dial has nine.",
			"It sank in the middle, so we called it a bowl and filled it.",
			"The knock on the bottom should sound like a door that someone will open.",
			"I forgot the salt. You only do that once a year.",
			"Half the loaf was gone before it was cold, which is against the rules and the point of them.",
			"For {thing} I trust my hands more than the clock.",
			"The crumbs go to the sparrows, who hold a meeting about it.",
		},
		extra: "Weights, for one loaf: `500 g` flour, `350 g` water, `10 g` salt.",
	},
}

var firstPages = []struct {
	slug, title, body string
	topics            []string
}{
	{"fire-station-bench", "The bench behind the fire station", "It faces the wrong way, which is why it is always free.\n\nSit there at eight and you see who comes home and who goes to work.", []string{"walks", "quiet"}},
	{"sourdough", "Sourdough at eight degrees", "A cold kitchen is no reason to give up. It is a reason to begin the day before.", []string{"bread", "patience"}},
	{"tide-table", "How to read a tide table", "Two numbers for each tide: when, and how high.\n\nEverything else on the sheet is about the one harbor it was printed for.", []string{"sea", "numbers"}},
	{"wool-sweater", "Mending a wool sweater in the wrong color", "The sweater went at the elbow in November. The yarn I had was red, so the elbow is now a small red field.", []string{"mending", "winter"}},
	{"birds-before-six", "Birds I heard before six", "Blackbird, robin, wren, and one I do not know that says the same word four times.", []string{"morning", "birds"}},
	{"ferry-patience", "What the ferry schedule taught me", "The next one is in fifty minutes. It always is.", []string{"waiting", "sea"}},
	{"mitsuba", "Growing mitsuba on a north-facing sill", "It wants what nobody else wants: shade, and feet that are never dry.", []string{"garden", "kitchen"}},
	{"quiet-car", "The quiet car is not quiet", "It is only that everybody there can hear the others breathe.", []string{"trains", "quiet"}},
	{"fold-a-letter", "Seven ways to fold a letter", "Six of them open by themselves in the envelope. The seventh is below.\n\n1. In half.\n2. In half.\n3. Stop.", []string{"paper"}},
	{"kitchen-knife", "Sharpening a kitchen knife, slowly", "Count the strokes, and give the other side the same number.\n\nThere is more about [reading a tide table](/p/tide-table), which takes the same patience.", []string{"tools", "slow"}},
	{"manhole-covers", "A field guide to manhole covers", "Look down for a week and you will know which of your streets is the oldest.", []string{"walks", "maps"}},
	{"stairs-nowhere", "Stairs that go nowhere", "There are three in this town. One ends at a wall, one at a hedge, one in the air.", []string{"walks", "mistakes"}},
}

var firstHandles = []string{
	"heron", "moss", "tinbox", "lantern", "quarry", "Sparrow7", "otter", "juniper",
	"halfmoon", "pebble", "drizzle", "cog", "kestrel", "thimble", "saltmarsh", "bramble",
	"ninepins", "foxglove", "gravel", "tugboat", "larch", "inkwell", "pocketful", "mothwing",
	"cinder", "teaspoon", "oxbow", "wren_", "sleet", "dovetail", "marmot", "quill",
	"lowtide", "acorn", "buttonhole", "fern", "hopscotch", "snowline", "copper", "willow-9",
	"driftwood", "nettle", "signalbox", "plumb", "rookery", "sixpence", "hazel", "underpass",
}

var abouts = []string{
	"I walk a lot and write some of it down.",
	"Mostly tea, sometimes tools.",
	"Here for the snow.",
	"I fix what others throw away. Not always well.",
	"Slow reader, slower writer.",
	"I know every bench within an hour of here.",
	"Two cats, one garden plot, no plan.",
	"Night shifts, so I see the other half of the town.",
	"I collect schedules of lines that are gone.",
	"",
	"Bread on Sundays, code on trains.",
	"I ask more than I answer.",
}

var comments = []string{
	"I thought I was the only one.",
	"Went there this morning because of this. You were right about the bench.",
	"Mine took twice as long, and half of that was looking for the pencil.",
	"This is the sort of thing I come here for.",
	"Have you tried it the other way around?",
	"My aunt would disagree, loudly, and then do exactly the same.",
	"Bookmarked for the winter.",
	"The second paragraph made me laugh on a bus.",
	"It is two meters farther to the left since they moved the wall.",
	"Thank you. I had given up.",
	"In our town it is a Tuesday thing.",
	"More of these, please.",
	"I tried. It sank. I ate it anyway.",
	"You forgot the most important part: who brings the cookies?",
	"Same here, but with rain.",
	"Good. Now I have to buy a ruler.",
}
