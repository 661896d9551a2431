package store

// AllowUnits bounds the pages of tasks at n read units.
func (s *Tasks) AllowUnits(n float64) { s.page.units = n }
