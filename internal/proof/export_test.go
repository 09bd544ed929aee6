package proof

// TryExplore is Explore that returns what is wrong.
var TryExplore = explore
