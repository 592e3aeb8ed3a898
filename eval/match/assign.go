package match

import "math"

// assign pairs rows with columns so that the sum of the weights is maximal (the Hungarian
// method, cubic in the larger side). It makes no pairs of weight 0 or less. The result maps rows
// to columns.
func assign(rows, columns int, weight func(row, column int) float64) map[int]int {
	n := max(rows, columns)
	if rows == 0 || columns == 0 {
		return nil
	}
	cost := make([][]float64, n+1)
	for i := range cost {
		cost[i] = make([]float64, n+1)
	}
	for i := range rows {
		for j := range columns {
			cost[i+1][j+1] = -max(0, weight(i, j))
		}
	}
	partner := solve(n, cost)
	pairs := make(map[int]int, rows)
	for j := 1; j <= columns; j++ {
		if i := partner[j]; i >= 1 && i <= rows && cost[i][j] < 0 {
			pairs[i-1] = j - 1
		}
	}
	return pairs
}

// solve finds the cheapest perfect matching of a square matrix whose rows and columns count from
// 1. It returns the row of each column.
func solve(n int, cost [][]float64) []int {
	rowPrice, columnPrice := make([]float64, n+1), make([]float64, n+1)
	partner, way := make([]int, n+1), make([]int, n+1)
	for i := 1; i <= n; i++ {
		partner[0] = i
		column := 0
		least, used := make([]float64, n+1), make([]bool, n+1)
		for j := range least {
			least[j] = math.Inf(1)
		}
		for partner[column] != 0 {
			used[column] = true
			row, delta, next := partner[column], math.Inf(1), 0
			for j := 1; j <= n; j++ {
				if used[j] {
					continue
				}
				if c := cost[row][j] - rowPrice[row] - columnPrice[j]; c < least[j] {
					least[j], way[j] = c, column
				}
				if least[j] < delta {
					delta, next = least[j], j
				}
			}
			for j := range least {
				if used[j] {
					rowPrice[partner[j]] += delta
					columnPrice[j] -= delta
				} else {
					least[j] -= delta
				}
			}
			column = next
		}
		for column != 0 {
			before := way[column]
			partner[column] = partner[before]
			column = before
		}
	}
	return partner
}
